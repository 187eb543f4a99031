/** Passkeys belong to a host name: browsers create none for an IP address. */
export const hasPasskeys = (hostname: string): boolean => !/^[\d.]+$|^\[/.test(hostname);
