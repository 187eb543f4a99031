// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Keys extends Resource {
  /**
   * List API keys.
   *
   * The keys of the environment, newest first, without their secrets. A session sees the keys of both
   * environments.
   */
  list(query?: api.ListKeysData['query'], options?: RequestOptions): List<api.ApiKey> {
    return this.transport.list(sdk.listKeys, { query }, 'keys', options);
  }

  /**
   * Create an API key.
   *
   * Returns the key, once. The caller must have every scope and the environment that the new key gets. A key
   * cannot create a key that outlives it.
   */
  create(body: NonNullable<api.CreateKeyData['body']>, options?: RequestOptions): Promise<api.IssuedApiKey> {
    return this.transport.call(sdk.createKey, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Rename an API key.
   *
   * Changes the name. The scopes of a key never change.
   */
  update(keyId: string, body: NonNullable<api.UpdateKeyData['body']>, options?: RequestOptions): Promise<api.ApiKey> {
    return this.transport.call(sdk.updateKey, { path: { keyId }, body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Revoke an API key.
   *
   * The key is refused everywhere as soon as this request is answered. It stays in the list as `revoked`.
   */
  delete(keyId: string, options?: RequestOptions): Promise<Data<api.DeleteKeyResponse>> {
    return this.transport.call(sdk.deleteKey, { path: { keyId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Rotate an API key.
   *
   * Returns a new key with the name, scopes, environment and expiration of the old one. The old key stays valid
   * for the overlap, and cannot be rotated again (409). A key cannot rotate a key that outlives it (403).
   */
  rotate(keyId: string, body: NonNullable<api.RotateKeyData['body']>, options?: RequestOptions): Promise<api.IssuedApiKey> {
    return this.transport.call(sdk.rotateKey, { path: { keyId }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
