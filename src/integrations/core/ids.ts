import { defineId } from '../../platform/core/ids.ts';

export const integrationConnectionIds = defineId('icn');
/** Requested actions of integrations. */
export const actionRunIds = defineId('act');
