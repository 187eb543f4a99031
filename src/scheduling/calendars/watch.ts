import { createHmac } from 'node:crypto';
import { clock } from '../../platform/clock.ts';
import { withoutSlash } from '../../platform/core/base-url.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Log } from '../../platform/observability/log.ts';
import { isSameSecret } from '../../platform/security/compare-secrets.ts';
import { calendarIds } from '../core/ids.ts';
import type { CalendarClients } from './clients/clients.ts';
import type { CalendarCall } from './clients/ports.ts';
import { findCalendar } from './sync-state.ts';

/** The address of pushes, and the tokens by which they are known. */
export class PushTokens {
  readonly #key: string | undefined;
  readonly #base: string | undefined;

  /** @param key URL_SIGNING_KEY. Providers push to https alone. */
  constructor(key: string | undefined, publicUrl: string) {
    this.#key = key;
    this.#base = publicUrl.startsWith('https://') ? `${withoutSlash(publicUrl)}/api/calendar-push` : undefined;
  }

  /** Whether any provider could push. */
  get areOfUse(): boolean {
    return this.#key !== undefined && this.#base !== undefined;
  }

  /** Undefined where no provider could push. */
  addressOf(calendarId: string, service: string): { url: string; token: string } | undefined {
    if (this.#key === undefined || this.#base === undefined) return undefined;
    return { url: `${this.#base}/${service}`, token: this.#tokenOf(this.#key, calendarId) };
  }

  /** The calendar of a token; undefined for an unknown token. Takes the same time for all tokens. */
  calendarOf(token: string): string | undefined {
    const calendarId = calendarIds.parse(token.split('.')[0] ?? '');
    if (this.#key === undefined || calendarId === undefined) return undefined;
    return isSameSecret(token, this.#tokenOf(this.#key, calendarId)) ? calendarId : undefined;
  }

  /** 80 characters; Microsoft takes at most 128. */
  #tokenOf(key: string, calendarId: string): string {
    const mac = createHmac('sha256', key).update(`calendar push ${calendarId}`).digest('base64url');
    return `${calendarIds.format(calendarId)}.${mac}`;
  }
}

export interface WatchServices {
  calendarClients: CalendarClients;
  pushTokens: PushTokens;
  log: Log;
}

/** Channels of providers live for days. */
const renewBeforeMs = 48 * 3_600_000;

const keepChannel = statement({
  name: 'calendar.keep_channel',
  parameters: { calendarId: 'uuid', channelId: 'text', resource: 'text?', endsAt: 'timestamptz' },
  text: `update calendar set channel_id = :channelId, channel_resource = :resource, channel_ends_at = :endsAt
    where organization_id = :organizationId and environment = :environment and id = :calendarId`,
});

/**
 * Asks the provider to push changes of the calendar, if it can reach us: syncs then happen sooner. Otherwise, or if it
 * fails, only the Schedule runs them.
 */
export async function watchCalendar(
  { calendarClients, pushTokens, log }: WatchServices,
  scope: Scope,
  calendarId: string,
  call: CalendarCall,
): Promise<void> {
  const calendar = pushTokens.areOfUse ? await findCalendar(scope, calendarId) : undefined;
  if (!calendar) return;
  const { service, connectionId, channelId, channelResource, channelEndsAt } = calendar;
  const client = calendarClients.clientFor(scope.tenant.environment, service);
  const address = pushTokens.addressOf(calendarId, service);
  const isFresh = channelEndsAt !== null && channelEndsAt.getTime() - clock.now() > renewBeforeMs;
  if (!client.watch || !address || isFresh) return;
  const before =
    channelId !== null && channelEndsAt !== null
      ? { id: channelId, resource: channelResource, endsAt: channelEndsAt }
      : undefined;
  try {
    const channel = await client.watch({ scope, calendarId, connectionId }, address, before, call);
    await scope.rows(keepChannel, {
      calendarId,
      channelId: channel.id,
      resource: channel.resource,
      endsAt: channel.endsAt,
    });
  } catch (error) {
    call.signal.throwIfAborted();
    log.warn({ err: error, calendarId }, 'a calendar cannot be watched; its Schedule continues');
  }
}
