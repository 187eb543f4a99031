/** The published voices. */
export const voices = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'] as const;
export type Voice = (typeof voices)[number];

/** Limits of a request for speech. */
export const speechLimits = { codePoints: 4_096, speed: { least: 0.25, most: 4 } } as const;
