"""Entry point: ``python -m sojourn.validation FOLDER -o docs/validation.md``."""

from sojourn.validation.recorded import main

if __name__ == "__main__":
    main()
