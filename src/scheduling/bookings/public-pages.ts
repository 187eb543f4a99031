import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { clock } from '../../platform/clock.ts';
import { withoutSlash } from '../../platform/core/base-url.ts';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { AppError } from '../../platform/errors.ts';
import type { Environment } from '../../platform/tenant.ts';
import { isKept } from '../../tenancy/index.ts';

/** A form stays open while its visitor looks at a calendar. Half of the time for which its booking is remembered. */
const maxFormAgeMs = 12 * 3_600_000;

const slugPattern = /^[a-z0-9-]{1,100}$/;
const tokenPattern = /^(\d{1,15})\.([\w-]{16})\.([\w-]{22})$/;

/** The address of the page of an event type, by its slug; null where there are no pages. */
export type PublicPageUrls = (slug: string) => string | null;

const findSlug = statement({
  name: 'organization.slug',
  row: { slug: 'text' },
  text: 'select slug from organization where id = :organizationId and :environment is not null',
});

/** The public pages on which event types are booked, and the tokens of their forms. */
export class PublicPages {
  readonly #key: string | undefined;
  readonly #base: string;

  /** @param key URL_SIGNING_KEY. Without one there are no pages: their forms could not be authenticated. */
  constructor(key: string | undefined, publicUrl: string) {
    this.#key = key;
    this.#base = `${withoutSlash(publicUrl)}/book`;
  }

  get exist(): boolean {
    return this.#key !== undefined;
  }

  /** The addresses of a tenant's pages. */
  async urlsOf(scope: Scope): Promise<PublicPageUrls> {
    const found = this.exist ? await scope.one(findSlug) : undefined;
    if (!found) return () => null;
    const { environment } = scope.tenant;
    return (slug) => `${this.#base}${environment === 'test' ? '/test' : ''}/${found.slug}/${slug}`;
  }

  /** For a form that is shown now: it says which event type the form books, and when it was shown. */
  formTokenOf(eventTypeId: string, now = clock.now()): string {
    const [issued, nonce] = [String(now), randomBytes(12).toString('base64url')];
    return `${issued}.${nonce}.${this.#sign(eventTypeId, issued, nonce)}`;
  }

  /** Whether a form with this token was shown for the event type, and not too long ago. */
  acceptsForm(token: string, eventTypeId: string, now = clock.now()): boolean {
    const [, issued, nonce, signature] = tokenPattern.exec(token) ?? [];
    if (issued === undefined) return false;
    const isOurs = timingSafeEqual(Buffer.from(signature!), Buffer.from(this.#sign(eventTypeId, issued, nonce!)));
    const age = now - Number(issued);
    // The clock of the process that made it may be ahead.
    return isOurs && age < maxFormAgeMs && age > -maxFormAgeMs;
  }

  #sign(eventTypeId: string, issued: string, nonce: string): string {
    const mac = createHmac('sha256', this.#key!).update(`booking form ${eventTypeId} ${issued} ${nonce}`);
    return mac.digest('base64url').slice(0, 22);
  }
}

/** An event type as its public page names it. */
export interface PublicEventType {
  /** UUID. */
  id: string;
  name: string;
  description: string | null;
  organization: string;
  /** Null: the default host. */
  hostId: string | null;
  embedOrigins: readonly string[];
}

// A look-up that knows no tenant: the slug of the organization says which one it is.
const findBySlugs = systemStatement({
  name: 'event_type.by_slugs',
  parameters: { organization: 'text', environment: 'text', eventType: 'text' },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    name: 'text',
    description: 'text?',
    organization: 'text',
    hostId: 'uuid?',
    embedOrigins: 'text[]?',
  },
  text: `select t.id, o.id as "organizationId", t.name, t.description, o.name as organization, t.host_id as "hostId",
          t.embed_origins as "embedOrigins"
     from organization o
     join scheduling_event_type t on t.organization_id = o.id and t.environment = :environment and t.slug = :eventType
    where o.slug = :organization and t.deleted_at is null and t.is_active and ${isKept('o.id')}`,
});

/**
 * The event type of a public page, and the scope of its tenant. Inactive event types, and those of a deleted
 * organization, have no page.
 * @throws AppError not_found
 */
export async function findPublicPage(
  { database, publicPages }: { database: Database; publicPages: PublicPages },
  slugs: { organization: string; environment: Environment; eventType: string },
  correlationId: string,
): Promise<{ scope: Scope; eventType: PublicEventType }> {
  const isPossible = publicPages.exist && slugPattern.test(slugs.organization) && slugPattern.test(slugs.eventType);
  const found = isPossible && (await sqlOn(database.pool).one(findBySlugs, slugs));
  if (!found) throw new AppError('not_found', 'This page does not exist.');
  const { organizationId, embedOrigins, ...eventType } = found;
  const tenant = { organizationId, environment: slugs.environment };
  return {
    scope: new Scope(database, tenant, correlationId, 'page'),
    eventType: { ...eventType, embedOrigins: embedOrigins ?? [] },
  };
}
