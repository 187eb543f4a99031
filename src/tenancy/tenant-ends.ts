import type { Scope } from '../platform/database/scope.ts';

/** Ends the open work of a feature for a tenant, as its owner would. @returns whether some of it is still open */
type TenantEnd = (scope: Scope) => Promise<boolean>;

/** What features do for a tenant whose organization is being removed, before its rows go. */
export class TenantEnds {
  readonly #ends: TenantEnd[] = [];

  on(end: TenantEnd): void {
    this.#ends.push(end);
  }

  /** @returns whether something is still to end */
  async run(scope: Scope): Promise<boolean> {
    let isOpen = false;
    for (const end of this.#ends) isOpen = (await end(scope)) || isOpen;
    return isOpen;
  }
}
