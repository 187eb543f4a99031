import type { LiveIntegration } from './live/entry.ts';
import { liveHubspot } from './live/hubspot.ts';
import { liveLinkedin } from './live/linkedin.ts';
import { liveTeams } from './live/microsoft-teams.ts';
import { liveSalesforce } from './live/salesforce.ts';
import { liveSlack } from './live/slack.ts';

/** What the conformance suite knows of each integration. */
export const liveIntegrations: LiveIntegration[] = [liveSlack, liveTeams, liveHubspot, liveSalesforce, liveLinkedin];
