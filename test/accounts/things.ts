import { identityIds, invitationIds, memberIds } from '../../src/accounts/core/ids.ts';
import { newId } from '../../src/platform/ids.ts';
import type { ThingsOf } from '../openapi/document.ts';

/** Keys of the organization. What people alone write is walked with sessions. */
export const accountThings: ThingsOf = async ({ client }) => {
  const { body } = await client.post('/api/v1/keys', { name: 'One of the walks', environment: 'test' });
  return [
    { prefix: /./, parameter: 'keyId', id: body.data.id },
    { prefix: /./, parameter: 'memberId', id: memberIds.format(newId()) },
    { prefix: /./, parameter: 'invitationId', id: invitationIds.format(newId()) },
    { prefix: /./, parameter: 'identityId', id: identityIds.format(newId()) },
  ];
};
