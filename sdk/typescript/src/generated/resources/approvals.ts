// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Approvals extends Resource {
  /**
   * List approvals.
   *
   * Newest first. With both filters, approvals that match both are returned. Forms and values of more than 16 KiB
   * are replaced by `{$ref, bytes}`; so are the largest ones of a page that has more than 2 MiB, whose longest
   * messages are cut.
   */
  list(query?: api.ListApprovalsData['query'], options?: RequestOptions): List<api.Approval> {
    return this.transport.list(sdk.listApprovals, { query }, 'approvals', options);
  }

  /**
   * Retrieve an approval.
   *
   * Returns the approval with its message and form, and the answer once it is given.
   */
  get(approvalId: string, options?: RequestOptions): Promise<api.Approval> {
    return this.transport.call(sdk.getApproval, { path: { approvalId } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Answer an approval.
   *
   * The first answer wins, and the run continues with it as the output of the step. An approval that is answered,
   * expired or cancelled returns 409 `conflict`, with who decided and when. Values that do not match the form
   * return 400 with their paths, and the approval stays open.
   */
  respond(approvalId: string, body: NonNullable<api.RespondToApprovalData['body']>, options?: RequestOptions): Promise<api.Approval> {
    return this.transport.call(sdk.respondToApproval, { path: { approvalId }, body }, { answer: 'json', isEnveloped: true }, options);
  }
}
