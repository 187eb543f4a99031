import type { Egress } from '../../platform/egress/egress.ts';
import type { StoredConfiguration } from '../configurations.ts';
import type { ToolConnection } from '../tool.ts';
import { PostgresConnection } from './postgres.ts';
import { WebSearchConnection } from './web-search.ts';

/** Our own clients for services without a server of the Model Context Protocol, or without a trustworthy one. */
export const openOwnClient = (
  client: 'postgres' | 'web-search',
  configuration: StoredConfiguration,
  egress: Egress,
): ToolConnection =>
  client === 'postgres'
    ? new PostgresConnection(configuration.secrets, egress)
    : new WebSearchConnection(configuration, egress);
