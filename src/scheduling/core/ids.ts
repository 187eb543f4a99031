import { defineId } from '../../platform/core/ids.ts';

export const eventTypeIds = defineId('et');
export const bookingIds = defineId('bkg');
export const hostIds = defineId('hst');
export const patternIds = defineId('rpt');
export const blackoutIds = defineId('blk');
export const calendarIds = defineId('cal');
