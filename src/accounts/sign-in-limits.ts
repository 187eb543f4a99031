import { hash } from 'node:crypto';
import { AddressLimiter } from '../tenancy/index.ts';
import type { AccountTimes } from './core/times.ts';

const maxFailedPasswords = 10;
const maxLinksOfAccount = 5;
const maxLinksOfAddress = 20;

const seconds = (ms: number) => Math.max(1, ms / 1000);
/** The account may exist or not. */
const accountOf = (email: string) => hash('sha256', email.trim().toLowerCase(), 'base64');

/** Counts failed passwords and mailed links in this process, by account and by client address. */
export class SignInLimits {
  readonly #ofAccounts: AddressLimiter;
  readonly #ofAddresses: AddressLimiter;
  readonly #linksOfAccounts: AddressLimiter;
  readonly #linksOfAddresses: AddressLimiter;

  constructor({ failedPasswordsMs, mailedLinksMs }: AccountTimes) {
    this.#ofAccounts = new AddressLimiter(maxFailedPasswords, seconds(failedPasswordsMs));
    this.#ofAddresses = new AddressLimiter(maxFailedPasswords, seconds(failedPasswordsMs));
    this.#linksOfAccounts = new AddressLimiter(maxLinksOfAccount, seconds(mailedLinksMs));
    this.#linksOfAddresses = new AddressLimiter(maxLinksOfAddress, seconds(mailedLinksMs));
  }

  /**
   * To be called before a password is checked. It counts as failed until it is known to be right, so that many at once
   * are no way around the limit.
   * @returns what to call when it was right
   * @throws AppError rate_limit_exceeded
   */
  beginPassword(email: string, address: string): () => void {
    const account = accountOf(email);
    const refusal = this.#ofAccounts.refusal(account) ?? this.#ofAddresses.refusal(address);
    if (refusal) throw refusal;
    this.#ofAccounts.take(account);
    this.#ofAddresses.take(address);
    return () => {
      this.#ofAccounts.giveBack(account);
      this.#ofAddresses.giveBack(address);
    };
  }

  /** Counts a link that is asked for. @returns whether it may be mailed */
  mayMailLink(email: string, address: string): boolean {
    const account = accountOf(email);
    if (this.#linksOfAccounts.refusal(account) || this.#linksOfAddresses.refusal(address)) return false;
    this.#linksOfAccounts.take(account);
    this.#linksOfAddresses.take(address);
    return true;
  }
}
