import { expect } from '@jest/globals';
import { microsoftTeams } from '../../../src/integrations/catalog/microsoft-teams.ts';
import { type FakeTeams, startFakeTeams, teamsError, teamsTenant } from '../teams.ts';
import { live } from './entry.ts';

const { tenantId, organization, user, teamId, channelId } = teamsTenant;
const message = { channelId, content: 'Grüße' };

const wrongIds = [
  '',
  '/',
  'a/b',
  '..',
  '../me',
  `${teamId}/..`,
  `${teamId}/a/b`,
  `${teamId}/`,
  'a?b',
  'a%2Fb',
  'ä',
  'x'.repeat(301),
];

export const liveTeams = live<FakeTeams>({
  integration: microsoftTeams,
  start: startFakeTeams,
  variables: ({ origin, clientId, clientSecret }) => ({
    TEAMS_CLIENT_ID: clientId,
    TEAMS_CLIENT_SECRET: clientSecret,
    TEAMS_LOGIN_BASE_URL: origin,
    TEAMS_BASE_URL: `${origin}/`,
  }),
  account: () => ({ id: tenantId, name: organization, details: { user: user.id, team: teamId } }),
  token: (fake) => fake.accessToken(),
  identity: { workspace: organization, user: user.displayName },
  rateLimited: (seconds) => teamsError(429, 'TooManyRequests', { 'retry-after': String(seconds) }),
  expired: [teamsError(401, 'InvalidAuthenticationToken'), { status: 401, body: 'words' }],
  meanings: [
    [teamsError(400, 'BadRequest'), 'invalid_payload', 'BadRequest'],
    [teamsError(404, 'ItemNotFound'), 'invalid_payload', 'NotFound'],
    [teamsError(413, 'RequestEntityTooLarge'), 'invalid_payload', 'RequestEntityTooLarge'],
    [teamsError(403, 'Forbidden'), 'action_failed', 'Forbidden'],
    [teamsError(403, 'ApplicationThrottled'), 'rate_limited', 'ApplicationThrottled'],
    [teamsError(409, 'Conflict'), 'action_failed', 'Conflict'],
    [teamsError(502, 'BadGateway'), 'lost', 'BadGateway'],
    [teamsError(403, '<script>'), 'action_failed'],
    [{ status: 201, body: { id: 7 } }, 'lost'],
    [{ status: 400, body: 'no' }, 'invalid_payload'],
  ],
  actions: {
    send_message: {
      payload: () => message,
      answer: { messageId: expect.stringMatching(/^\d{13}$/), createdAt: expect.stringMatching(/\.\d{3}Z$/) },
      invalid: [
        [{ content: 'no channel' }, 'channelId'],
        [{ channelId }, 'content'],
        [{ ...message, content: '' }, 'content'],
        [{ ...message, content: 'ü'.repeat(14 * 1_024 + 1) }, 'content'],
        [{ ...message, contentType: 'markdown' }, 'contentType'],
        ...wrongIds.map((id): [unknown, string] => [{ ...message, channelId: id }, 'channelId']),
      ],
      refused: [
        [{ ...message, channelId: '19:unknown@thread.tacv2' }, 'invalid_payload', 'channelId'],
        [{ ...message, channelId: `${teamId.replace('f', '0')}/${channelId}` }, 'invalid_payload', 'channelId'],
      ],
    },
  },
});
