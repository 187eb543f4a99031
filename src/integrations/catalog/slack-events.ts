import { z } from 'zod';
import { isSameSecret } from '../../platform/security/compare-secrets.ts';
import { type Inbound, maxSignedBytes, type Notice } from '../definition/inbound.ts';
import { hmacOf, isRecent } from '../definition/signatures.ts';

const text = z.string().max(300);
/** The Events API: https://docs.slack.dev/apis/events-api/ */
const callback = z.object({
  type: z.literal('event_callback'),
  team_id: text,
  event_id: text,
  /** Unix seconds. */
  event_time: z.int().min(0).max(4_102_444_800).optional().catch(undefined),
  api_app_id: text.optional(),
  authorizations: z.array(z.object({ user_id: text, is_bot: z.boolean().optional() })).optional(),
  event: z.looseObject({ type: text }),
});
const byOf = { user: text.optional(), bot_id: text.optional(), app_id: text.optional() };
const message = z.object({ ...byOf, channel: text, ts: text, text: z.string().nullish(), subtype: text.optional() });
const reaction = z.object({
  ...byOf,
  reaction: text,
  item: z.object({ type: z.literal('message'), channel: text, ts: text }),
});

/** Messages of these subtypes are new ones; of others they are notes about changes, such as `message_deleted`. */
const newMessages = [undefined, 'file_share', 'thread_broadcast', 'me_message', 'bot_message'];

const messageTriggers = new Map([
  ['message', 'message_received'],
  ['app_mention', 'mention'],
]);

/** The data of an event for subscribers; undefined for an event that is not published. */
function noticeOf({ event, api_app_id: app, authorizations = [] }: z.infer<typeof callback>) {
  const isOurs = (by: { user?: string | undefined; app_id?: string | undefined }) =>
    (app !== undefined && by.app_id === app) ||
    authorizations.some(({ user_id: id, is_bot: isBot }) => isBot === true && id === by.user);
  if (event.type === 'reaction_added') {
    const { data } = reaction.safeParse(event);
    if (!data?.user || isOurs(data)) return undefined;
    const { user, item } = data;
    return { trigger: 'reaction_added', data: { channel: item.channel, user, reaction: data.reaction, ts: item.ts } };
  }
  const trigger = messageTriggers.get(event.type);
  const { data } = message.safeParse(event);
  if (trigger === undefined || !data || isOurs(data) || !newMessages.includes(data.subtype)) return undefined;
  const { channel, user = data.bot_id ?? '', ts } = data;
  return { trigger, data: { channel, user, text: data.text ?? '', ts } };
}

// https://docs.slack.dev/reference/events/app_uninstalled/ and /tokens_revoked/: of tokens that people gave, we have none.
const revokedTokens = z.object({ tokens: z.object({ bot: z.array(text).min(1) }) });

/** When our access to a workspace ended, if an event says that it did. */
function accessEnd({ event, event_time: at }: z.infer<typeof callback>): { accessEndedAt: Date } | undefined {
  const isEnd =
    event.type === 'app_uninstalled' || (event.type === 'tokens_revoked' && revokedTokens.safeParse(event).success);
  return isEnd && at !== undefined ? { accessEndedAt: new Date(at * 1_000) } : undefined;
}

const challenge = z.object({ type: z.literal('url_verification'), challenge: z.string().max(4_096) });

/** Events of Slack's Events API, with its signature. */
export const slackInbound: Inbound = {
  acknowledged: 200,
  handshake: {
    answers: 'challenge',
    isSigned: true,
    answer({ json }) {
      const { data } = challenge.safeParse(json);
      return data && { json: { challenge: data.challenge } };
    },
  },
  accountOfHandshake: ({ json }) => z.object({ team_id: text }).safeParse(json).data?.team_id,
  notices({ json }): Notice[] | undefined {
    const { data } = callback.safeParse(json);
    if (data) return [{ accountId: data.team_id, key: data.event_id, ...noticeOf(data), ...accessEnd(data) }];
    return z.object({ type: z.literal('app_rate_limited') }).safeParse(json).success ? [] : undefined;
  },
  maxBodyBytes: (headers, now) =>
    isRecent(headers['x-slack-request-timestamp'], 1_000, now) &&
    /^v0=[0-9a-f]{64}$/.test(headers['x-slack-signature'] ?? '')
      ? maxSignedBytes
      : undefined,
  // https://docs.slack.dev/authentication/verifying-requests-from-slack/
  verify({ headers, body }, secret, now) {
    const timestamp = headers['x-slack-request-timestamp'];
    if (!isRecent(timestamp, 1_000, now)) return false;
    const expected = `v0=${hmacOf(secret, 'hex', `v0:${timestamp}:`, body)}`;
    return isSameSecret(headers['x-slack-signature'], expected);
  },
};
