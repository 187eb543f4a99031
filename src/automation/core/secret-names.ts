/** The form of a secret's name. */
export const secretNamePattern = /^[A-Z][A-Z0-9_]{0,63}$/;

export const maxSecretLength = 8_192;

/** Secrets of one environment at most. */
export const maxSecrets = 100;
