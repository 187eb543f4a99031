// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Files extends Resource {
  /**
   * Retrieve a file.
   *
   * Addresses of files come with the answers of other operations, signed and for a limited time; read the record
   * again for a fresh one. HEAD, conditional requests and ranges work as for any file on the web.
   */
  get(name: string, query?: api.GetFileData['query'], options?: RequestOptions): Promise<Blob> {
    return this.transport.call(sdk.getFile, { path: { name }, query }, { answer: 'bytes', isRepeatable: true }, options);
  }
}
