// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Members extends Resource {
  /**
   * List members.
   *
   * The people of the organization, in the order in which they joined.
   */
  list(query?: api.ListMembersData['query'], options?: RequestOptions): List<api.Member> {
    return this.transport.list(sdk.listMembers, { query }, 'members', options);
  }

  /**
   * Change the role of a member.
   *
   * Needs the session of an admin, or of an owner to change an owner. The last owner cannot be changed (409).
   */
  update(memberId: string, body: NonNullable<api.UpdateMemberData['body']>, options?: RequestOptions): Promise<api.Member> {
    return this.transport.call(sdk.updateMember, { path: { memberId }, body }, { answer: 'json', isEnveloped: true }, options);
  }

  /**
   * Remove a member.
   *
   * All sessions of the person end at once. Needs the session of an admin. The last owner cannot be removed
   * (409).
   */
  delete(memberId: string, options?: RequestOptions): Promise<Data<api.DeleteMemberResponse>> {
    return this.transport.call(sdk.deleteMember, { path: { memberId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
