import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import type { Mailer } from '../platform/mail.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { type Notice, type NoticeReport, sendNotices } from './notices.ts';

/** A route with a sunset date. */
interface DeprecatedRoute {
  /** `GET /api/v1/things/{id}` */
  route: string;
  /** `YYYY-MM-DD` */
  sunset: string;
}

const recordEveryMs = 3_600_000;
/** Above it the memory is cleared and some uses are recorded twice, which is harmless. */
const maxSeen = 10_000;

const recordUse = systemStatement({
  name: 'deprecation.use',
  parameters: { organizationId: 'uuid', route: 'text', sunset: 'date' },
  text: `insert into deprecated_use (organization_id, route, sunset, last_used_at)
    values (:organizationId, :route, :sunset, atelier_now())
   on conflict (organization_id, route) do update set sunset = excluded.sunset, last_used_at = excluded.last_used_at`,
});

/** Records the use of deprecated routes, at most once an hour per organization and route. */
export class DeprecatedUses {
  readonly #database: Database;
  readonly #seen = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
  }

  async record(organizationId: string, { route, sunset }: DeprecatedRoute, now: number): Promise<void> {
    const key = `${organizationId} ${route} ${sunset}`;
    if ((this.#seen.get(key) ?? 0) > now - recordEveryMs) return;
    if (this.#seen.size >= maxSeen) this.#seen.clear();
    this.#seen.set(key, now);
    try {
      await sqlOn(this.#database.pool).rows(recordUse, { organizationId, route, sunset });
    } catch (error) {
      this.#seen.delete(key);
      throw error;
    }
  }
}

interface Use extends DeprecatedRoute {
  organizationId: string;
  organization: string;
  email: string | null;
}

const findUses = systemStatement({
  name: 'deprecation.find',
  row: { organizationId: 'uuid', organization: 'text', email: 'text?', route: 'text', sunset: 'text' },
  text: `select o.id as "organizationId", o.name as organization, o.email, u.route, u.sunset::text as sunset
     from deprecated_use u join organization o on o.id = u.organization_id and o.deleted_at is null
    where not exists (select from notice n where n.organization_id = o.id and n.sent_at is not null
                         and n.about = 'deprecation ' || u.route || ' ' || u.sunset::text)
    order by o.id, u.route`,
});

const noticeOf = ({ organizationId, organization, email, route, sunset }: Use & { email: string }): Notice => ({
  organizationId,
  about: `deprecation ${route} ${sunset}`,
  to: email,
  subject: `An API endpoint that ${organization} uses will be removed on ${sunset}`,
  text: [
    `${organization} uses ${route}, which is deprecated and will be removed on ${sunset}.`,
    '',
    'Its responses contain the header X-API-Deprecated with that date. The reference at /docs names the replacement.',
    '',
  ].join('\n'),
});

interface AnnouncementReport extends NoticeReport {
  /** Ids (`org_…`) of organizations that used a deprecated route and have no address. */
  withoutAddress: string[];
}

/** Mails every organization whose keys used a deprecated route, once per route and sunset date. */
export async function announceDeprecations(database: Database, mailer: Mailer): Promise<AnnouncementReport> {
  const uses = await sqlOn(database.pool).rows(findUses);
  const reachable = uses.filter((use): use is Use & { email: string } => use.email !== null);
  const unreachable = new Set(uses.filter(({ email }) => email === null).map((use) => use.organizationId));
  // The operator who reads of a failure repeats the command.
  const report = await sendNotices(database, mailer, reachable.map(noticeOf), { retriesRefused: true });
  return { ...report, withoutAddress: [...unreachable].map((id) => organizationIds.format(id)) };
}
