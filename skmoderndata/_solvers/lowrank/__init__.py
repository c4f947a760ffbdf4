"""Low-rank tables with gross errors or missing entries.

Principal component pursuit (Candes et al. 2011), singular value thresholding (Cai, Candes and Shen
2010), completion with the nuclear norm (Mazumder et al. 2010), robust regression on components.
`RobustPCA` and `NuclearNormImputer` call them.
"""
