"""The widget in a real browser: the standalone page, JupyterLab and Notebook 7."""
