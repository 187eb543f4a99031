export const SearchDialog = () => null;
