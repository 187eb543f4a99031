/** Passkeys belong to a name: browsers make none for an address. */
export const hasPasskeys = (hostname: string): boolean => !/^[\d.]+$|^\[/.test(hostname);
