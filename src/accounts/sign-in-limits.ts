import { hash } from 'node:crypto';
import { AddressLimiter } from '../tenancy/index.ts';
import type { AccountTimes } from './core/times.ts';

const maxFailedPasswords = 10;
const maxLinksOfAccount = 5;
const maxLinksOfAddress = 20;
/** Accounts that one client address begins by itself, and organizations that they are given. */
const maxSignUpsOfAddress = 5;
/** The same of all addresses together. */
const maxSignUps = 100;

const seconds = (ms: number) => Math.max(1, ms / 1000);
/** The account may exist or not. */
const accountOf = (email: string) => hash('sha256', email.trim().toLowerCase(), 'base64');

/** What people do who sign up by themselves: begin an account, have a link mailed, are given an organization. */
export type SignUpStep = 'account' | 'link' | 'organization';

/** Counts failed passwords, mailed links and what people sign up for in this process, by account and by client address. */
export class SignInLimits {
  readonly #ofAccounts: AddressLimiter;
  readonly #ofAddresses: AddressLimiter;
  readonly #linksOfAccounts: AddressLimiter;
  readonly #linksOfAddresses: AddressLimiter;
  readonly #signUps: Record<SignUpStep, { ofAddresses: AddressLimiter; ofAll: AddressLimiter }>;

  constructor({ failedPasswordsMs, mailedLinksMs }: AccountTimes) {
    this.#ofAccounts = new AddressLimiter(maxFailedPasswords, seconds(failedPasswordsMs));
    this.#ofAddresses = new AddressLimiter(maxFailedPasswords, seconds(failedPasswordsMs));
    this.#linksOfAccounts = new AddressLimiter(maxLinksOfAccount, seconds(mailedLinksMs));
    this.#linksOfAddresses = new AddressLimiter(maxLinksOfAddress, seconds(mailedLinksMs));
    const counted = () => ({
      ofAddresses: new AddressLimiter(maxSignUpsOfAddress, seconds(mailedLinksMs)),
      ofAll: new AddressLimiter(maxSignUps, seconds(mailedLinksMs)),
    });
    this.#signUps = { account: counted(), link: counted(), organization: counted() };
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

  /** Counts a step of signing up. @throws AppError rate_limit_exceeded */
  countSignUp(step: SignUpStep, address: string): void {
    const { ofAddresses, ofAll } = this.#signUps[step];
    const refusal = ofAddresses.refusal(address) ?? ofAll.refusal('');
    if (refusal) throw refusal;
    ofAddresses.take(address);
    ofAll.take('');
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
