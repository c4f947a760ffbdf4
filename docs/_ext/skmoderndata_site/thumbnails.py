"""Thumbnails of the gallery: one panel of an example's picture, with letters that can be read."""

from pathlib import Path

WIDTH = 2.8  # inches, at most, of the panel's frame; letters keep their size in points
HEIGHT = 1.9
DPI = 160
LONGEST_TITLE = 40  # letters; a longer one runs out of the panel
MOST_OF_THE_PANEL = 0.35  # of its area: a legend that covers more is left out


def scrape(block, block_vars, gallery_conf):
    """Save the figures of a block as sphinx-gallery does, and one panel for the thumbnail.

    It is the largest panel of the first figure, the first of equals. An example chooses another
    one by a comment, counted from 0: `# sphinx_gallery_thumbnail_panel = 2`, and another figure
    by `# sphinx_gallery_thumbnail_number = 2`.
    """
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    # the figures, which the scraper closes
    paths = block_vars["image_path_iterator"]
    before = len(paths)
    figures = [plt.figure(number) for number in plt.get_fignums()]
    rst = matplotlib_scraper(block, block_vars, gallery_conf)

    # the figure that the example chooses, if it is among them
    settings = block_vars["file_conf"]
    chosen = settings.get("thumbnail_number", 1) - 1 - before
    if "thumbnail_path" not in settings and 0 <= chosen < len(figures):
        path = Path(str(paths.image_path).format(0)).with_suffix(".png")
        path = path.with_name(path.name.replace("_000", "_panel"))
        save_panel(figures[chosen], path, settings.get("thumbnail_panel"))
        settings["thumbnail_path"] = str(path)
        settings.pop("thumbnail_number", None)  # which goes first
    return rst


def save_panel(figure, path, number=None):
    """Save one panel of a figure, without what belongs to others; the figure is changed."""
    panels = [ax for ax in figure.axes if ax.get_visible() and not hasattr(ax, "_colorbar")]
    if not panels:
        figure.savefig(path)
        return

    # places as they are drawn
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    panel = largest(panels) if number is None else panels[number]
    place = panel.get_window_extent().bounds
    for ax in figure.axes:  # a second axis of the same panel stays
        ax.set_visible(ax.get_window_extent().bounds == place)
    for part in [figure, *figure.subfigs]:
        for text in [*part.texts, *part.legends]:
            text.set_visible(False)

    # a smaller figure with letters of the same size
    scale = min(WIDTH / place[2], HEIGHT / place[3]) * figure.dpi
    figure.set_size_inches(figure.get_size_inches() * scale)
    title = panel.get_title()
    if len(title) > LONGEST_TITLE:
        panel.set_title("")
    figure.draw_without_rendering()
    drop_large_legend(panel)

    box = panel.get_tightbbox()
    box = box.transformed(figure.dpi_scale_trans.inverted()).padded(0.05)
    figure.savefig(path, dpi=DPI, bbox_inches=box)


def largest(panels):
    """Return the panel of the largest area, the first of those that are equal but for rounding."""
    areas = [
        round(ax.get_window_extent().width * ax.get_window_extent().height) for ax in panels
    ]
    return panels[areas.index(max(areas))]


def drop_large_legend(panel):
    """Remove a legend that would cover much of the panel."""
    legend = panel.get_legend()
    if legend is None:
        return
    area = panel.get_window_extent()
    covered = legend.get_window_extent()
    if covered.width * covered.height > MOST_OF_THE_PANEL * area.width * area.height:
        legend.remove()
