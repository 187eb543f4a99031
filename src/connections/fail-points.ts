import { defineFailPoints } from '../platform/parts/fail-points.ts';

export const failPoint = defineFailPoints('connection.exchanged', 'connection.refreshed');
