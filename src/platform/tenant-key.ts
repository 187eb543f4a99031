declare const madeByScope: unique symbol;

/**
 * How pools that tenants share know one of them. Only a scope makes it, so that no part of a tenant's work can pass for
 * another tenant's.
 */
export type TenantKey = string & { readonly [madeByScope]: true };
