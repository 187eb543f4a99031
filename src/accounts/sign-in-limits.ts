import { hash } from 'node:crypto';
import type { CountedWindow, WindowCounter } from '../tenancy/index.ts';
import type { AccountTimes } from './core/times.ts';

const maxFailedPasswords = 10;
/** Codes of a second factor. */
const maxFailedCodes = 10;
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
type SignUpStep = 'account' | 'link' | 'organization';

/** Counts failed passwords and codes, mailed links and what people sign up for, by account and by client address. */
export class SignInLimits {
  readonly #counter: WindowCounter;
  readonly #failedPasswordsSeconds: number;
  readonly #mailedLinksSeconds: number;

  constructor(counter: WindowCounter, { failedPasswordsMs, mailedLinksMs }: AccountTimes) {
    this.#counter = counter;
    this.#failedPasswordsSeconds = seconds(failedPasswordsMs);
    this.#mailedLinksSeconds = seconds(mailedLinksMs);
  }

  /**
   * Checks a password. It counts as failed until it is known to be right, so that many at once are no way around the
   * limit. One that could not be checked does not count.
   * @param check its answer is `ok` when the password was right, or absent when it was not
   * @throws AppError rate_limit_exceeded; and what `check` throws
   */
  checkPassword<Answer extends { ok: boolean } | undefined>(
    { email, address }: { email: string; address: string },
    check: () => Promise<Answer>,
  ): Promise<Answer> {
    const of = { max: maxFailedPasswords, seconds: this.#failedPasswordsSeconds };
    const windows = [
      { limit: 'password:account', of: accountOf(email), ...of },
      { limit: 'password:address', of: address, ...of },
    ];
    return this.#check(windows, check);
  }

  /** Checks a code of a second factor in the same way. @throws AppError rate_limit_exceeded; and what `check` throws */
  checkCode<Answer extends { ok: boolean } | undefined>(userId: string, check: () => Promise<Answer>): Promise<Answer> {
    const window = { limit: 'code:account', of: userId, max: maxFailedCodes, seconds: this.#failedPasswordsSeconds };
    return this.#check([window], check);
  }

  /** Counts a step of signing up. @throws AppError rate_limit_exceeded */
  async countSignUp(step: SignUpStep, address: string): Promise<void> {
    const ofAll = { limit: `sign-up:${step}`, of: '', max: maxSignUps, seconds: this.#mailedLinksSeconds };
    const ofAddress = { ...ofAll, limit: `sign-up:${step}:address`, of: address, max: maxSignUpsOfAddress };
    const { refusal } = await this.#counter.take([ofAddress, ofAll]);
    if (refusal) throw refusal;
  }

  /** Counts a requested link. @returns whether it may be mailed */
  async mayMailLink(email: string, address: string): Promise<boolean> {
    const ofAccount = { limit: 'link:account', of: accountOf(email), max: maxLinksOfAccount };
    const ofAddress = { limit: 'link:address', of: address, max: maxLinksOfAddress };
    const windows = [ofAccount, ofAddress].map((one) => ({ ...one, seconds: this.#mailedLinksSeconds }));
    return (await this.#counter.take(windows)).refusal === undefined;
  }

  async #check<Answer extends { ok: boolean } | undefined>(
    windows: readonly CountedWindow[],
    check: () => Promise<Answer>,
  ): Promise<Answer> {
    const counted = await this.#counter.take(windows);
    if (counted.refusal) throw counted.refusal;
    let hasFailed = false;
    try {
      const answer = await check();
      hasFailed = !answer?.ok;
      return answer;
    } finally {
      if (!hasFailed) await counted.giveBack();
    }
  }
}
