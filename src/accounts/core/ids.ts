import { defineId } from '../../platform/core/ids.ts';

export const userIds = defineId('usr');
export const memberIds = defineId('mem');
export const invitationIds = defineId('inv');
/** Identities at the OpenID provider. */
export const identityIds = defineId('idn');
