// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Tools extends Resource {
  /**
   * List tool servers.
   *
   * Every tool server that chat, agents and steps can name, and how it is configured.
   */
  list(options?: RequestOptions): List<api.ToolServer> {
    return this.transport.list(sdk.listToolServers, {}, 'servers', options);
  }

  /**
   * Configure a tool server.
   *
   * Configures the server for the environment of the key. In the test environment every server works without a
   * configuration.
   */
  put(serverId: string, body: NonNullable<api.PutToolServerData['body']>, options?: RequestOptions): Promise<api.ToolServer> {
    return this.transport.call(sdk.putToolServer, { path: { serverId }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Remove the configuration of a tool server.
   *
   * Its secrets are erased. Files that it stored stay.
   */
  delete(serverId: string, options?: RequestOptions): Promise<Data<api.DeleteToolServerResponse>> {
    return this.transport.call(sdk.deleteToolServer, { path: { serverId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
