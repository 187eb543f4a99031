import { defineId } from '../../platform/core/ids.ts';

export const integrationConnectionIds = defineId('icn');
