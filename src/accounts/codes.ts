import { hash } from 'node:crypto';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { finishFactorChange } from './second-factor.ts';
import type { SignInLimits } from './sign-in-limits.ts';

// Codes of second factors. better-auth counts a code only once it has checked it, accepts one as often as it is sent
// while it is valid, and counts none of a session.

/** An authenticator's code is accepted for a minute and a half. */
const usedSeconds = 120;

const findAsked = systemStatement({
  name: 'code.person_asked',
  parameters: { challenge: 'text' },
  row: { userId: 'text' },
  text: `select value as "userId" from auth."verification"
    where "identifier" = :challenge and "expiresAt" > atelier_now()`,
});
const use = systemStatement({
  name: 'code.use',
  parameters: { id: 'uuid', seconds: 'float8' },
  row: { id: 'uuid' },
  text: `insert into auth."verification" ("id", "identifier", "value", "expiresAt")
    values (:id, 'code:' || :id::text, '', atelier_now() + make_interval(secs => :seconds))
    on conflict ("id") do update set "expiresAt" = excluded."expiresAt"
     where auth."verification"."expiresAt" < atelier_now()
    returning id`,
});
const release = systemStatement({
  name: 'code.release',
  parameters: { id: 'uuid' },
  text: `delete from auth."verification" where id = :id`,
});

/** One row for a person and a code. PostgreSQL reads a UUID without hyphens. */
const idOf = (userId: string, code: string) => hash('sha256', `${userId} ${code}`).slice(0, 32);

const challengePattern = /^2fa-[\w-]+$/;

/** The person whose sign-in waits for a code. @returns the user's id; undefined where none waits */
export async function personAsked({ pool }: Database, challenge: string | undefined): Promise<string | undefined> {
  if (challenge === undefined || !challengePattern.test(challenge)) return undefined;
  return (await sqlOn(pool).one(findAsked, { challenge }))?.userId;
}

interface CodeServices {
  database: Database;
  limits: SignInLimits;
}

interface PersonCode {
  /** A canonical uuid. */
  userId: string;
  code: string;
}

/**
 * Checks a code of the person of a session, within `changeSecondFactor`: it completes what a change before it left behind. A
 * person can use a code once. Codes count as failed until they are known to be right.
 * @param check asks better-auth
 * @returns undefined where the code has been used
 * @throws AppError rate_limit_exceeded
 */
export function checkSessionCode<Answer extends { ok: boolean }>(
  { database: { pool }, limits }: CodeServices,
  { userId, code }: PersonCode,
  check: () => Promise<Answer>,
): Promise<Answer | undefined> {
  const id = idOf(userId, code);
  return limits.checkCode(userId, async () => {
    if (!(await sqlOn(pool).one(use, { id, seconds: usedSeconds }))) return undefined;
    let isRight = false;
    try {
      const answer = await check();
      isRight = answer.ok;
      return answer;
    } finally {
      if (!isRight) await sqlOn(pool).rows(release, { id });
    }
  });
}

/**
 * Checks a code of a person whose sign-in waits for it, as `checkSessionCode` does. A change of the person's second factor
 * that ended between its two writes is completed first.
 */
export const checkSignInCode = <Answer extends { ok: boolean }>(
  services: CodeServices,
  asked: PersonCode,
  check: () => Promise<Answer>,
): Promise<Answer | undefined> =>
  checkSessionCode(services, asked, async () => {
    await finishFactorChange(services.database, asked.userId);
    return check();
  });
