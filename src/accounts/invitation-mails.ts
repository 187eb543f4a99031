import { KeyedSemaphore } from '../platform/concurrency/keyed-semaphore.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { type Mailer, MailFailure } from '../platform/mail.ts';
import type { Log } from '../platform/observability/log.ts';
import { invitationIds } from './core/ids.ts';
import { invitationPath } from './core/paths.ts';
import { tokenOfInvitation } from './tokens.ts';

/**
 * Longer than sending a mail takes. After this time an invitation is due again whose mail failed, or whose process was
 * killed.
 */
const leaseMinutes = 5;
/** Maximum invitations that one call of the sweep mails. */
const maxSwept = 100;
/** Mails of one organization that a process sends at the same time, so that those of others do not wait for them. */
const maxConcurrent = 4;

const isDue = `i."mailedAt" is null and i."status" = 'pending' and i."expiresAt" > atelier_now()
      and (i."leasedUntil" is null or i."leasedUntil" < atelier_now())`;

// The first of each organization, then the second of each; those that failed come after those that were not tried.
const findDue = systemStatement({
  name: 'invitation.due',
  parameters: { limit: 'int' },
  row: { id: 'uuid', organizationId: 'uuid' },
  text: `select id, "organizationId" from (
     select i.id, i."organizationId", i."leasedUntil", row_number() over (
              partition by i."organizationId" order by i."leasedUntil" nulls first, i.id) as nth
       from auth."invitation" i join organization o on o.id = i."organizationId" and o.deleted_at is null
      where ${isDue}) due
    order by nth, "leasedUntil" nulls first, id limit :limit`,
});
const findMail = systemStatement({
  name: 'invitation.mail',
  parameters: { id: 'uuid' },
  row: { email: 'text', role: 'text', organization: 'text' },
  text: `select i.email, i.role, o.name as organization
     from auth."invitation" i join organization o on o.id = i."organizationId" and o.deleted_at is null
    where i.id = :id and ${isDue}`,
});
const lease = systemStatement({
  name: 'invitation.lease',
  parameters: { id: 'uuid', leaseMinutes: 'int' },
  row: { id: 'uuid' },
  text: `update auth."invitation" i set "leasedUntil" = atelier_now() + make_interval(mins => :leaseMinutes)
     from organization o
    where i.id = :id and ${isDue} and o.id = i."organizationId" and o.deleted_at is null
   returning i.id`,
});
const setMailed = systemStatement({
  name: 'invitation.mailed',
  parameters: { id: 'uuid' },
  text: `update auth."invitation" set "mailedAt" = atelier_now() where id = :id`,
});

/** Another process mails the invitation or has, or it is not open any more. */
class NotDue extends Error {}

interface InvitationMailServices {
  database: Database;
  mailer: Mailer;
  log: Log;
  /** Without it no invitation is mailed. */
  secret: string | undefined;
  baseUrl: string;
}

interface Unmailed {
  /** Canonical uuid. */
  id: string;
  organizationId: string;
}

/**
 * Mails invitations: each right after its creation, or by a sweep if that failed or the process ended before. No row is
 * locked while a mail is being sent. After a crash between sending and recording, the mail is sent again with the same
 * Message-ID.
 */
export class InvitationMails {
  readonly #services: InvitationMailServices;
  readonly #semaphore = new KeyedSemaphore(maxConcurrent, Number.POSITIVE_INFINITY);

  constructor(services: InvitationMailServices) {
    this.#services = services;
  }

  /** Mails an invitation, unless another process does. @returns whether it was mailed */
  async mail({ id, organizationId }: Unmailed): Promise<boolean> {
    const { secret } = this.#services;
    return secret !== undefined && this.#semaphore.run(organizationId, () => this.#mailNow(id, secret));
  }

  /** Mails invitations of all organizations that were not mailed yet. @returns how many */
  async mailDue(): Promise<number> {
    if (this.#services.secret === undefined) return 0;
    const found = await sqlOn(this.#services.database.pool).rows(findDue, { limit: maxSwept });
    const mailed = await Promise.all(found.map((invitation) => this.mail(invitation)));
    return mailed.filter(Boolean).length;
  }

  async #mailNow(id: string, secret: string): Promise<boolean> {
    const { database, mailer, log, baseUrl } = this.#services;
    const sql = sqlOn(database.pool);
    const found = await sql.one(findMail, { id });
    if (!found) return false;
    const { email, role, organization } = found;
    const mail = {
      to: email,
      onBehalfOf: organization,
      subject: `You are invited to ${organization}`,
      text: [
        `You are invited to the organization ${organization} as ${role}.`,
        '',
        'Open this link and press the button to accept. It works once, for 48 hours.',
        '',
        `${baseUrl}${invitationPath}/${tokenOfInvitation(secret, id)}`,
        '',
        'If you do not know the organization, ignore this mail.',
        '',
      ].join('\n'),
      about: `invitation ${id}`,
    };
    // The lease begins when the mail is sent, and not while it waits: with a slow server that takes longer than the lease.
    const begin = async () => {
      if (!(await sql.one(lease, { id, leaseMinutes }))) throw new NotDue();
    };
    try {
      await mailer.send(mail, { begin });
    } catch (error) {
      if (error instanceof NotDue) return false;
      const isRefused = error instanceof MailFailure && error.isPermanent;
      const facts = { invitationId: invitationIds.format(id), reason: error instanceof Error ? error.message : error };
      log.warn(facts, `a mail of an invitation ${isRefused ? 'was refused' : 'failed and will be retried'}`);
      // A server that refuses the address for good is not asked again.
      if (isRefused) await sql.rows(setMailed, { id });
      return false;
    }
    await sql.rows(setMailed, { id });
    return true;
  }
}
