import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints('connection.exchanged', 'connection.refreshed');
