/** How many values of a dimension, workflows for example, are kept apart in a day, or in an hour. */
export const maxValues = 200;

/** What values beyond those count as. */
export const otherValues = 'other';
