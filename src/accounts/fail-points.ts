import { defineFailPoints } from '../platform/parts/fail-points.ts';

export const failPoint = defineFailPoints('invitation.accepted', 'invitation.before-commit');
