import { e1, e2 } from './envelopes.ts';
import type { Mount } from './mount.ts';
import { signIn } from './routes/accounts/feature.ts';
import { approvalPages } from './routes/automation/feature.ts';
import { sandboxConsents } from './routes/connections/feature.ts';
import { consolePages } from './routes/console/feature.ts';
import { agents, chat } from './routes/conversation/feature.ts';
import { docs } from './routes/docs/feature.ts';
import { files } from './routes/files/feature.ts';
import { mcp } from './routes/mcp/feature.ts';
import { openai } from './routes/openai/feature.ts';
import { operations } from './routes/operations/feature.ts';
import { bookingPages, calendarPush, publicPages } from './routes/scheduling/feature.ts';
import { providerReports, studio } from './routes/studio/feature.ts';
import { account } from './routes/v1/account/feature.ts';
import { automation } from './routes/v1/automation/feature.ts';
import { integrations } from './routes/v1/integrations/feature.ts';
import { scheduling } from './routes/v1/scheduling/feature.ts';
import { tools } from './routes/v1/tools/feature.ts';
import { webhooks } from './routes/v1/webhooks/feature.ts';
import { voice } from './routes/voice/feature.ts';

const versioned = { paths: ['/api/v1', '/v1'], envelope: e1, hasDialects: true } as const;

/**
 * Everything that the API serves, and where. Routing, the reference, the scopes of idempotency keys and the envelopes of
 * 404 and 405 follow from this table. A new feature takes one line here.
 */
export const mounts: readonly Mount[] = [
  { ...versioned, ...automation },
  { ...versioned, ...webhooks },
  { ...versioned, ...account },
  { ...versioned, ...tools },
  { paths: ['/api'], envelope: e1, hasDialects: false, ...operations },
  { paths: ['/api/auth'], envelope: e1, hasDialects: false, ...signIn },
  { paths: ['/files'], envelope: e1, hasDialects: false, ...files },
  { paths: ['/a'], envelope: e1, hasDialects: false, ...approvalPages },
  { paths: ['/b'], envelope: e1, hasDialects: false, ...bookingPages },
  { paths: ['/book'], envelope: e1, hasDialects: false, ...publicPages },
  { paths: ['/'], envelope: e1, hasDialects: false, ...docs },
  { paths: ['/app'], envelope: e1, hasDialects: false, ...consolePages },
  { paths: ['/api/studio'], envelope: e1, hasDialects: false, ...studio },
  { paths: ['/hooks'], envelope: e1, hasDialects: false, ...providerReports },
  { paths: ['/sandbox'], envelope: e1, hasDialects: false, ...sandboxConsents },
  { paths: ['/api/calendar-push'], envelope: e1, hasDialects: false, ...calendarPush },
  { paths: ['/api/chat'], envelope: e2, hasDialects: false, ...chat },
  { paths: ['/api/agents'], envelope: e2, hasDialects: false, ...agents },
  { paths: ['/api/voice'], hasDialects: false, ...voice },
  { paths: ['/mcp'], hasDialects: false, ...mcp },
  { paths: ['/openai/v1'], hasDialects: false, ...openai },
  { paths: ['/api/v1/integrations', '/v1/integrations'], envelope: e1, hasDialects: true, ...integrations },
  { paths: ['/api/v1/scheduling', '/v1/scheduling'], envelope: e1, hasDialects: true, ...scheduling },
];
