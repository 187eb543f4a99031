import { hubspot } from './catalog/hubspot.ts';
import { linkedin } from './catalog/linkedin.ts';
import { microsoftTeams } from './catalog/microsoft-teams.ts';
import { salesforce } from './catalog/salesforce.ts';
import { slack } from './catalog/slack.ts';
import type { Integration } from './definition/integration.ts';

/** Every integration, in the order in which they are listed. A new one is a file of `catalog/` and a line here. */
export const catalog: readonly Integration[] = [slack, microsoftTeams, hubspot, salesforce, linkedin];

const byId = new Map(catalog.map((integration) => [integration.id, integration]));

export const findIntegration = (id: string): Integration | undefined => byId.get(id);
