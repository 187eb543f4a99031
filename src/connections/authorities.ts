import { withoutSlash } from '../platform/core/base-url.ts';
import type { Egress } from '../platform/egress/egress.ts';
import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import type { Authority } from './authority.ts';
import { LiveAuthority } from './live-authority.ts';
import type { ConnectionPolicy } from './policy.ts';
import type { Purpose } from './providers.ts';
import { SandboxAuthority } from './sandbox-authority.ts';

/** The purposes that features declared, and the authority for each, chosen by the environment of the key. */
export class Authorities {
  readonly #purposes = new Map<string, Purpose>();
  readonly #live = new Map<string, Authority>();
  readonly #sandbox = new Map<string, Authority>();
  readonly #publicUrl: string;
  readonly #egress: Egress;
  readonly #policy: ConnectionPolicy;

  constructor(publicUrl: string, egress: Egress, policy: ConnectionPolicy) {
    this.#policy = policy;
    this.#publicUrl = withoutSlash(publicUrl);
    this.#egress = egress;
  }

  /** @throws Error when a purpose of this name was declared before */
  declare(purpose: Purpose): void {
    if (this.#purposes.has(purpose.name)) throw new Error(`Two features declare the purpose ${purpose.name}.`);
    this.#purposes.set(purpose.name, purpose);
    for (const [id, provider] of Object.entries(purpose.providers)) {
      this.#sandbox.set(`${purpose.name}/${id}`, this.#inSandbox(purpose, id));
      if (provider) this.#live.set(`${purpose.name}/${id}`, new LiveAuthority(provider, this.#egress, this.#policy));
    }
  }

  #inSandbox({ sandboxPath }: Purpose, provider: string): Authority {
    const pathOf = sandboxPath ?? (({ state }) => `/sandbox/oauth/authorize?state=${state}`);
    return new SandboxAuthority(({ state, redirectUri }) => this.#publicUrl + pathOf({ provider, state, redirectUri }));
  }

  /** @throws Error when no part declared it */
  purpose(name: string): Purpose {
    const purpose = this.#purposes.get(name);
    if (!purpose) throw new Error(`No feature declares the purpose ${name}.`);
    return purpose;
  }

  /** The address at which the providers of a purpose answer. */
  callbackUrl(purpose: string): string {
    return this.#publicUrl + this.purpose(purpose).callbackPath;
  }

  /** @throws AppError provider_not_configured for a live key where the client's credentials are not set */
  of(environment: Environment, purpose: string, provider: string): Authority {
    if (!(provider in this.purpose(purpose).providers)) throw new Error(`${purpose} has no provider ${provider}.`);
    const authority = (environment === 'test' ? this.#sandbox : this.#live).get(`${purpose}/${provider}`);
    if (authority) return authority;
    throw new AppError('provider_not_configured', 'This provider is not configured for live keys.', { provider });
  }
}
