import { createHash } from 'node:crypto';
import { clock } from '../platform/clock.ts';
import type { Authority, AuthorizationAnswer, AuthorizationRequest, Tokens } from './authority.ts';
import { newSecret } from './code-verifier.ts';
import { AuthorizationFailure } from './failures.ts';

/** As `loginHint`: the owner of this account refuses. */
export const deniedHint = 'sandbox:denied';

const lifeMs = 3_600_000;

/** The code of a consent in the sandbox. It belongs to one question, as a provider's does, and is good once, as that is. */
export const sandboxCode = (verifier: string): string =>
  createHash('sha256').update(`sandbox code ${verifier}`).digest('base64url').slice(0, 32);

const tokens = (): Tokens => ({
  accessToken: `sandbox_access_${newSecret()}`,
  refreshToken: `sandbox_refresh_${newSecret()}`,
  expiresAt: new Date(clock.now() + lifeMs),
  answer: {},
});

/** Replaces every provider in the test environment. It sends no requests. */
export class SandboxAuthority implements Authority {
  readonly revokesAccount = false;
  readonly revokes = 'refresh';
  readonly #addressOf: (request: AuthorizationRequest) => string;

  /** @param addressOf where the owner of an account is sent */
  constructor(addressOf: (request: AuthorizationRequest) => string) {
    this.#addressOf = addressOf;
  }

  authorizeUrl(request: AuthorizationRequest): string {
    return this.#addressOf(request);
  }

  async exchange({ query, verifier }: AuthorizationAnswer): Promise<Tokens> {
    const refuse = (code: string) =>
      new AuthorizationFailure(code, 'The sandbox gave no tokens.', { retryable: false });
    // Checked like a provider's answer: one of each (RFC 6749, 3.1), and an error beside a code is an error.
    const [codes, errors] = [query.getAll('code'), query.getAll('error')];
    if (errors.length === 1 && errors[0] === 'access_denied') throw refuse('access_denied');
    if (errors.length > 0 || codes.length > 1) throw refuse('invalid_answer');
    if (codes[0] !== sandboxCode(verifier)) throw refuse('invalid_grant');
    return tokens();
  }

  async refresh(refreshToken: string): Promise<Tokens> {
    if (refreshToken.startsWith('sandbox_refresh_')) return tokens();
    throw new AuthorizationFailure('invalid_grant', 'The sandbox does not know this token.', { retryable: false });
  }

  async revoke(): Promise<void> {}
}
