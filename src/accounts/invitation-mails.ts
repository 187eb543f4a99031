import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import type { Mailer } from '../platform/mail.ts';
import { invitationPath } from './core/paths.ts';
import { tokenOfInvitation } from './tokens.ts';

// An invitation is mailed right after its creation, or by a sweep if the process ended before that.

const findUnmailed = systemStatement({
  name: 'invitation.unmailed',
  parameters: { limit: 'int' },
  row: { id: 'uuid', email: 'text', role: 'text', organization: 'text' },
  text: `select i.id, i.email, i.role, o.name as organization
     from auth."invitation" i join organization o on o.id = i."organizationId" and o.deleted_at is null
    where i."mailedAt" is null and i."status" = 'pending' and i."expiresAt" > clock_timestamp()
    order by i.id limit :limit`,
});
const setMailed = systemStatement({
  name: 'invitation.mailed',
  parameters: { id: 'uuid' },
  text: `update auth."invitation" set "mailedAt" = clock_timestamp() where id = :id`,
});

interface InvitationMailServices {
  database: Database;
  mailer: Mailer;
  secret: string | undefined;
  baseUrl: string;
}

/** Mails invitations that were not mailed yet. A mail that is sent twice is shown once. @returns how many */
export async function mailInvitations({ database, mailer, secret, baseUrl }: InvitationMailServices): Promise<number> {
  if (secret === undefined) return 0;
  const sql = sqlOn(database.pool);
  const found = await sql.rows(findUnmailed, { limit: 100 });
  for (const { id, email, role, organization } of found) {
    await mailer.send({
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
    });
    await sql.rows(setMailed, { id });
  }
  return found.length;
}
