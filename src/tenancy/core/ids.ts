import { defineId } from '../../platform/core/ids.ts';

export const organizationIds = defineId('org');
export const keyIds = defineId('key');
