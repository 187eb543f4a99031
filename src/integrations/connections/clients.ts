import type { OAuthProvider } from '../../connections/index.ts';
import type { Settings } from '../../platform/env.ts';
import type { NoSettings } from '../../platform/parts/part.ts';
import { catalog } from '../catalog.ts';
import type { IntegrationClient } from '../definition/integration.ts';

/** The variables of every integration. Only the integration itself reads them, so they have no common type. */
export const integrationSettings: Settings<NoSettings> = {
  shape: Object.assign({}, ...catalog.map(({ settings }) => settings)),
};

/** The clients that an installation is registered as, by the id of the integration; undefined where it has none. */
export type IntegrationClients = ReadonlyMap<string, IntegrationClient | undefined>;

/** @param env with the variables of every integration */
export const openClients = (env: Readonly<Record<string, unknown>>): IntegrationClients =>
  new Map(catalog.map((integration) => [integration.id, integration.client(env)]));

/** The integrations as OAuth providers, for `connections`. An integration that is connected in another way has none. */
export const oauthProviders = (clients: IntegrationClients): Record<string, OAuthProvider | undefined> =>
  Object.fromEntries(
    catalog.map(({ id }) => {
      const consent = clients.get(id)?.consent;
      return [id, consent?.kind === 'oauth' ? consent.provider : undefined];
    }),
  );
