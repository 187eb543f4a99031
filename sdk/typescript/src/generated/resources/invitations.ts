// This file is generated from the OpenAPI document.

import type { Data, RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Invitations extends Resource {
  /**
   * List invitations.
   *
   * The invitations of the organization, newest first, until 30 days after they expire.
   */
  list(query?: api.ListInvitationsData['query'], options?: RequestOptions): List<api.Invitation> {
    return this.transport.list(sdk.listInvitations, { query }, 'invitations', options);
  }

  /**
   * Invite a person.
   *
   * Mails a link that makes its reader a member. The link works once, within 48 hours. An earlier invitation of
   * the address ends. Needs the session of an admin, or of an owner to invite an owner.
   */
  create(body: NonNullable<api.CreateInvitationData['body']>, options?: RequestOptions): Promise<api.Invitation> {
    return this.transport.call(sdk.createInvitation, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Revoke an invitation.
   *
   * Its link stops working at once. Needs the session of an admin.
   */
  delete(invitationId: string, options?: RequestOptions): Promise<Data<api.DeleteInvitationResponse>> {
    return this.transport.call(sdk.deleteInvitation, { path: { invitationId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }
}
