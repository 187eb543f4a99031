import { defineId } from '../../platform/core/ids.ts';

export const integrationConnectionIds = defineId('icn');
/** Actions that integrations were asked to do. */
export const actionRunIds = defineId('act');
