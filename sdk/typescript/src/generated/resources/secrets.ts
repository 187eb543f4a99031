// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Secrets extends Resource {
  /**
   * List secrets.
   *
   * Lists the names of the secrets that steps can send, in alphabetical order. The values are never shown.
   */
  list(query?: api.ListSecretsData['query'], options?: RequestOptions): List<api.Secret> {
    return this.transport.list(sdk.listSecrets, { query }, 'secrets', options);
  }

  /**
   * Create or replace a secret.
   *
   * Stores the value encrypted, for the environment of the key. Steps that start from now on send it. An
   * environment has at most 100 secrets.
   */
  put(secretName: string, body: NonNullable<api.PutSecretData['body']>, options?: RequestOptions): Promise<api.Secret> {
    return this.transport.call(sdk.putSecret, { path: { secretName }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Delete a secret.
   *
   * Steps that send it fail from now on with `secret_not_found`.
   */
  delete(secretName: string, options?: RequestOptions): Promise<Data<api.DeleteSecretResponse>> {
    return this.transport.call(sdk.deleteSecret, { path: { secretName } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
