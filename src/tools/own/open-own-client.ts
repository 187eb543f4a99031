import type { Egress } from '../../platform/egress.ts';
import type { StoredConfiguration } from '../configurations.ts';
import type { ToolConnection } from '../tool.ts';
import { PostgresConnection } from './postgres.ts';
import { WebSearchConnection } from './web-search.ts';

/** Clients of ours for services that have no server of the Model Context Protocol, or none that could be trusted. */
export const openOwnClient = (
  client: 'postgres' | 'web-search',
  configuration: StoredConfiguration,
  egress: Egress,
): ToolConnection =>
  client === 'postgres'
    ? new PostgresConnection(configuration.secrets, egress)
    : new WebSearchConnection(configuration, egress);
