"""``python -m kvtui``."""

from kvtui.cli import main

if __name__ == "__main__":
    main()
