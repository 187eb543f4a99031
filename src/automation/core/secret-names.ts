/** What the name of a secret looks like. */
export const secretNamePattern = /^[A-Z][A-Z0-9_]{0,63}$/;

export const maxSecretLength = 8_192;

/** Secrets of one environment at most. */
export const maxSecrets = 100;
