"""`make dist`: the packages of a release, built and checked. docs/releasing.md says what each check is for."""
